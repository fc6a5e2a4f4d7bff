class Queue:
    def __init__(self):
        self.xs = []

    def pop(self):
        return self.xs.pop()
