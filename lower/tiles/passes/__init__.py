"""What passes over products that nothing stores are made of."""
