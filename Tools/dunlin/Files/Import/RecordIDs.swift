import Foundation

/// The ids of documents that come without one: the same record gets the same id, also when an import resumes.
///
/// An id has 26 characters, like those that a store makes: the time at which the import began, 40 random
/// bits, and the number of the record, in Crockford's base 32. The ids sort in the order of the file.
struct RecordIDs: Sendable, Equatable {
  /// What all ids of the import begin with.
  let prefix: String

  private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

  /// Begins an import of now.
  init() {
    let milliseconds = UInt64(Date().timeIntervalSince1970 * 1_000)
    var generator = SystemRandomNumberGenerator()
    prefix = Self.text(milliseconds, digitCount: 10) + Self.text(generator.next(), digitCount: 8)
  }

  /// Goes on with an import that began earlier.
  init?(prefix: String) {
    guard prefix.count == 18, prefix.allSatisfy(Self.digits.contains) else { return nil }
    self.prefix = prefix
  }

  func id(ofRecord number: Int) -> String { prefix + Self.text(UInt64(number), digitCount: 8) }

  private static func text(_ number: UInt64, digitCount: Int) -> String {
    String((0..<digitCount).reversed().map { digits[Int(number >> UInt64(5 * $0) & 31)] })
  }
}
