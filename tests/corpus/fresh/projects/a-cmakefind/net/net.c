int net;
