class Version {
  String s
  Version(String s) { this.s = s }
  def next() { def parts = s.split(/\./); parts[2].toInteger() + 1 }
}
