import Foundation

/// Orders of a shop, as JSON: 12 fields and a nested map, 514 bytes on average; the same bytes everywhere.
package struct Orders {
  /// Checksums of the first 1,000 and the first 100,000 lines, taken from an independent generator in Python.
  static let checksums: [Int: UInt64] = [1_000: 0x9031_518c_fbb5_84ef, 100_000: 0x523a_1291_1a35_4d81]

  private var prose = Prose(random: SplitMix64(seed: 20_240_601))

  package init() {}

  /// The next order's JSON line, with its end.
  package mutating func next() -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(640)
    func put(_ text: String) { line += Array(text.utf8) }
    let first = pick(Vocabulary.firstNames)
    let last = prose.capitalized(
      pick(Vocabulary.syllables) + pick(Vocabulary.syllables) + pick(Vocabulary.syllables))
    let id = hex(prose.random.next(), digits: 16) + hex(prose.random.next() & 0xFFFF_FFFF, digits: 8)
    let created = 1_700_000_000_000 + below(31_536_000_000)
    put(#"{"_id":"\#(id)","type":"order","status":""#)
    line += pick(Vocabulary.statuses)
    put(#"","amount":\#(below(1_000)),"customer":""#)
    line += first + [32] + last
    put(#"","email":""#)
    line += lowercased(first) + [46] + lowercased(last)
    put(#"@example.org","price":\#(Double(below(1_000_000)) / 100),"createdAt":\#(created)"#)
    put(#","updatedAt":\#(created + below(86_400_000)),"active":\#(below(2) == 1),"tags":["#)
    for index in 0..<3 {
      put(index == 0 ? "\"" : ",\"")
      line += pick(Vocabulary.tags) + [34]
    }
    put(#"],"note":""#)
    line += prose.text(120 + below(40))
    put(#"","address":{"street":"\#(1 + below(300)) "#)
    line += pick(Vocabulary.streets)
    put(#" Street","city":""#)
    line += prose.capitalized(pick(Vocabulary.syllables) + pick(Vocabulary.syllables))
    let zip = String(below(100_000))
    put(#"","zip":"\#(String(repeating: "0", count: 5 - zip.count))\#(zip)","geo":{"lat":"#)
    put("\(Double(below(18_000_000) - 9_000_000) / 100_000)")
    put(#","lon":\#(Double(below(36_000_000) - 18_000_000) / 100_000)}}}"#)
    line.append(10)
    return line
  }

  private mutating func below(_ bound: Int) -> Int { prose.random.below(bound) }
  private mutating func pick(_ choices: [[UInt8]]) -> [UInt8] { prose.random.pick(choices) }

  private func lowercased(_ word: [UInt8]) -> [UInt8] { word.map { (65...90).contains($0) ? $0 + 32 : $0 } }

  private func hex(_ number: UInt64, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
