import requests
print(requests)
