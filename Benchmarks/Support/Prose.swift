import Foundation

/// Text that compresses about as English does.
package struct Prose {
  var random: SplitMix64

  package init(random: SplitMix64) { self.random = random }

  private mutating func word() -> [UInt8] {
    if random.below(1_000) < 140 {  // the long tail: names, terms
      var word: [UInt8] = []
      for _ in 0..<(2 + random.below(3)) { word += random.pick(Vocabulary.syllables) }
      return random.below(4) == 0 ? capitalized(word) : word
    }
    let position = Double(random.below(1 << 20)) / Double(1 << 20)
    // Roughly Zipf over the common words.
    return Vocabulary.common[Int(pow(Double(Vocabulary.common.count), position)) - 1]
  }

  /// About `size` bytes of sentences, never more.
  package mutating func text(_ size: Int) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(size + 32)
    var startsSentence = true
    var wordsLeft = 5 + random.below(12)
    while out.count < size {
      var word = word()
      if startsSentence { word = capitalized(word) }
      startsSentence = false
      wordsLeft -= 1
      if wordsLeft == 0 {
        word.append(random.pick(Array(".?!,;.".utf8)))
        startsSentence = true
        wordsLeft = 5 + random.below(12)
      } else if random.below(14) == 0 {
        word.append(UInt8(ascii: ","))
      }
      out += word
      out.append(UInt8(ascii: " "))
    }
    out.removeLast(max(1, out.count - size))
    while out.last == UInt8(ascii: " ") { out.removeLast() }
    return out
  }

  /// The word with its first letter in upper case and the rest in lower case.
  func capitalized(_ word: [UInt8]) -> [UInt8] {
    var word = word.map { (65...90).contains($0) ? $0 + 32 : $0 }
    if let first = word.first, (97...122).contains(first) { word[0] = first - 32 }
    return word
  }
}
