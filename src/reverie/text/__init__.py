"""Text as data: tokens, stop words, sentences, time expressions, host messages."""
