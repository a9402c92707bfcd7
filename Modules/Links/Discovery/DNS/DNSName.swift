/// A DNS name: labels of up to 63 bytes, 255 bytes in total with their lengths.
///
/// Two names are the same when they differ in the case of ASCII letters only (RFC 6762, 16).
struct DNSName: Hashable, Sendable, CustomStringConvertible {
  /// The maximum size of a label in bytes.
  static let labelBytes = 63
  /// The most labels of a name that is read; a packet with a longer name is dropped.
  static let labelLimit = 16
  /// The maximum size of a name in bytes, with the lengths of its labels and its end.
  static let nameBytes = 255

  /// The labels, from the most specific one to `local`.
  let labels: [[UInt8]]

  /// Makes a name; `nil` when the labels are invalid.
  init?(_ labels: [[UInt8]]) {
    guard labels.allSatisfy({ 1...Self.labelBytes ~= $0.count }),
      labels.reduce(1, { $0 + $1.count + 1 }) <= Self.nameBytes
    else { return nil }
    self.labels = labels
  }

  /// Makes a name of labels that are known to be valid.
  init(known labels: String...) { self.labels = labels.map { Array($0.utf8) } }

  /// The name with a label before it; `nil` when it would be too long.
  func prefixed(by label: String) -> DNSName? { DNSName([Array(label.utf8)] + labels) }

  /// The name without its first label.
  var parent: DNSName? { labels.count > 1 ? DNSName(Array(labels.dropFirst())) : nil }

  /// The size of the uncompressed name in bytes.
  var byteCount: Int { labels.reduce(1) { $0 + $1.count + 1 } }

  static func == (a: DNSName, b: DNSName) -> Bool {
    a.labels.count == b.labels.count
      && zip(a.labels, b.labels).allSatisfy {
        $0.count == $1.count && zip($0, $1).allSatisfy { $0.lowercased == $1.lowercased }
      }
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(labels.count)
    for label in labels {
      hasher.combine(label.count)
      for byte in label { hasher.combine(byte.lowercased) }
    }
  }

  /// The labels, with everything but letters, digits and some signs escaped.
  var description: String {
    labels.map { label in
      label.map { $0.isPlain ? String(UnicodeScalar($0)) : "\\\($0)" }.joined()
    }.joined(separator: ".")
  }
}

extension UInt8 {
  /// The lower-case byte of an ASCII letter; other bytes unchanged.
  var lowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

  /// Whether it is an ASCII letter or digit, a hyphen or an underscore.
  var isPlain: Bool {
    (0x30...0x39).contains(self) || (0x61...0x7A).contains(lowercased) || self == 0x2D || self == 0x5F
  }
}
