"""Does memory keep quiet when it should, and speak when it should, without a language model?"""
