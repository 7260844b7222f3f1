"""soft-digits: human against model uncertainty, what people's doubt teaches networks beside their other classes."""
