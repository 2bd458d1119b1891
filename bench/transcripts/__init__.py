"""What past conversations are worth: do they come back when needed, and keep quiet otherwise?"""
