fun main() {
    val c = Cart()
    val n: Int = c.name()
    println(c.missing + n)
}
