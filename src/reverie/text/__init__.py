"""Text as data: tokenizing, stop words, sentences, time expressions, host messages, token counts."""
