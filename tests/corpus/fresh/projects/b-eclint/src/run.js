function run() {
	return 1;   
}
run();
