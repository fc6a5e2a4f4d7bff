class Cart {
    fun name(): String = "x"
}
