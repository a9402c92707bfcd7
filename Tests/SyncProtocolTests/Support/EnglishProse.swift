import Foundation
import TestKit

/// Text that compresses about as English does: common words by Zipf's law, and rare words made of syllables.
///
/// The benchmarks' prose is made alike, so that what is measured there holds here.
struct EnglishProse {
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Sentences of so many bytes.
  mutating func text(_ byteCount: Int) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(byteCount + 64)
    while text.count < byteCount {
      let words = 5 + random.int(below: 12)
      for index in 0..<words {
        let start = text.count
        appendWord(to: &text)
        if index == 0 { text[start] &= 0xDF }
        if index == words - 1 {
          text.append(random.pick(Self.ends))
        } else if random.oneIn(14) {
          text.append(44)
        }
        text.append(32)
      }
    }
    return String(decoding: text[..<byteCount], as: UTF8.self)
  }

  private mutating func appendWord(to text: inout [UInt8]) {
    guard random.int(below: 1_000) < 140 else {
      let place = Double(random.int(below: 1 << 20)) / Double(1 << 20)
      text += Self.common[Int(pow(Double(Self.common.count), place)) - 1]
      return
    }
    let start = text.count
    for _ in 0..<2 + random.int(below: 3) { text += random.pick(Self.syllables) }
    if random.oneIn(4) { text[start] &= 0xDF }
  }

  /// What sentences end with.
  private static let ends = Array(".?!,;.".utf8)

  /// The most frequent words first.
  private static let common = words(
    """
    the of and to in is that for it as was with be by on not he this are or his from at which but have an
    had they you were their one all we can her has there been if more when will would who so no out up into
    them then she many some these other time about very only over such new also two any may first after work
    most where between should through before year people part place made find long little down day did get
    come way could same right look think say great help line turn cause much mean differ move boy old too
    does tell sentence set three want air well play small end put home read hand port large spell add even
    land here must big high follow act why ask men change went light kind off need house picture try us
    again animal point mother world near build self earth father head stand own page country found answer
    school grow study still learn plant cover food sun four thought let keep eye never last door city tree
    cross farm hard start might story saw far sea draw left late run while press close night real life few
    stop open seem together next white children begin got walk example ease paper often always music those
    both mark book letter until mile river car feet care second group carry took rain eat room friend began
    idea fish mountain north once base hear horse cut sure watch color face wood main enough plain girl
    usual young ready above ever red list though feel talk bird soon body dog family direct pose leave song
    measure state product black short numeral class wind question happen complete ship area half rock order
    fire south problem piece told knew pass farm top whole king size heard best hour better true during
    hundred am remember step early hold west ground interest reach fast five sing listen six table travel
    less morning ten simple several vowel toward war lay against pattern slow center love person money serve
    appear road map science rule govern pull cold notice voice fall power town fine certain fly unit lead
    cry dark machine note wait plan figure star box noun field rest correct able pound done beauty drive
    stood contain front teach week final gave green quick develop sleep warm free minute strong special mind
    behind clear tail produce fact street inch lot nothing course stay wheel full force blue object decide
    surface deep moon island foot yet busy test record boat common gold possible plane age dry wonder laugh
    thousand ago ran check game shape yes hot miss brought heat snow bed bring sit perhaps fill east weight
    language among
    """)

  private static let syllables = words(
    """
    ba be bi bo ca ce co da de di do fa fe ga go ha he hi la le li lo ma me mi mo na ne ni no pa pe po ra re
    ri ro sa se si so ta te ti to va ve vi za zo ster tion ment land burg ton ley
    """)

  private static func words(_ text: String) -> [[UInt8]] {
    text.utf8.split { $0 == 32 || $0 == 10 }.map(Array.init)
  }
}
