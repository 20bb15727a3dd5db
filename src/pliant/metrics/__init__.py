"""How good a posterior is: scores, each beside its noise floor."""
