/// Text that packs about as well as people's notes do.
enum Prose {
  private static let words = [
    "check", "the", "left", "engine", "before", "door", "valve", "pressure", "and", "close", "cabin", "fuel",
  ]

  /// At least so many bytes of words, the same for the same seed.
  static func text(_ count: Int, seed: UInt64 = 7) -> String {
    var text = ""
    var seed = seed
    while text.utf8.count < count {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text += words[Int(seed >> 33) % words.count] + " "
    }
    return text
  }
}
