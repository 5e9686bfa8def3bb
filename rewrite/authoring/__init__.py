"""Tools for those who write rules: what is wrong, what is proved, what is used."""
