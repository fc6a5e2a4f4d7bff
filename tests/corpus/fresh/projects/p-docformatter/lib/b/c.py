"""   Module c. """


def g():
    '''single quotes'''
