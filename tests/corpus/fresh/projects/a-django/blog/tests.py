from django.test import SimpleTestCase


class Views(SimpleTestCase):
    def test_home(self):
        self.assertContains(self.client.get("/"), "welcome")

    def test_post(self):
        self.client.get("/p/1")

    def test_404(self):
        self.assertEqual(self.client.get("/zz").status_code, 404)
