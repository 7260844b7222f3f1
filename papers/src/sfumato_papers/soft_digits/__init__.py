"""soft-digits: human against model uncertainty, what people's doubt teaches networks next to their other classes."""
