def index():
    pass
