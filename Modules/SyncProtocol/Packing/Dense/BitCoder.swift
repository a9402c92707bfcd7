/// The interval of a binary arithmetic coder of 32 bits.
///
/// Source: Mahoney, "Adaptive Weighing of Context Models for Lossless Data Compression", 2005, section 2.
private struct CodingInterval {
  var low: UInt32 = 0
  var high: UInt32 = .max

  /// Returns the last value of the subinterval for a one, given the 12-bit probability of a one.
  func middle(_ probability: Int) -> UInt32 {
    let span = high &- low
    let share = UInt32(truncatingIfNeeded: probability)
    return low &+ (span &>> 12) &* share &+ ((span & 0xFFF) &* share) &>> 12
  }

  mutating func narrow(_ bit: Int, at middle: UInt32) {
    if bit == 1 { high = middle } else { low = middle &+ 1 }
  }

  /// Whether the first byte is settled.
  var isSettled: Bool { (low ^ high) &>> 24 == 0 }

  mutating func shift() {
    low = low &<< 8
    high = high &<< 8 | 0xFF
  }
}

/// Writes bits as an arithmetic code.
struct BitEncoder {
  private(set) var bytes: [UInt8] = []
  private var interval = CodingInterval()

  /// Writes a bit; `probability` is the 12-bit probability of a one.
  mutating func write(_ bit: Int, _ probability: Int) {
    interval.narrow(bit, at: interval.middle(probability))
    while interval.isSettled {
      bytes.append(UInt8(truncatingIfNeeded: interval.high &>> 24))
      interval.shift()
    }
  }

  /// Writes the fewest bytes that settle all bits; the decoder reads missing bytes as zeros.
  mutating func finish() {
    guard interval.low > 0 else { return }
    for count in 1...4 {
      let step = UInt64(1) << UInt64(32 - 8 * count)
      let value = (UInt64(interval.low) + step - 1) / step * step
      guard value <= UInt64(interval.high) else { continue }
      for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(24 - 8 * place))) }
      return
    }
  }
}

/// Reads the bits of an arithmetic code.
///
/// Past its end it reads zeros, as many as the encoder may have left out.
struct BitDecoder {
  private let bytes: [UInt8]
  private var position = 0
  private var value: UInt32 = 0
  private var interval = CodingInterval()

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    for _ in 0..<Self.ahead { shiftIn() }
  }

  /// How many bytes the decoder reads ahead of the bits that it decodes.
  ///
  /// The encoder may leave out as many at the end.
  private static let ahead = 4

  /// Whether all bytes were read.
  var isAtEnd: Bool { position >= bytes.count }
  /// Whether more bytes were read than an encoder leaves out.
  var isBeyondEnd: Bool { position > bytes.count &+ Self.ahead }

  private mutating func shiftIn() {
    value = value &<< 8 | UInt32(position < bytes.count ? bytes[position] : 0)
    position += 1
  }

  /// Reads a bit; `probability` is the 12-bit probability of a one.
  mutating func read(_ probability: Int) -> Int {
    let middle = interval.middle(probability)
    let bit = value <= middle ? 1 : 0
    interval.narrow(bit, at: middle)
    while interval.isSettled {
      interval.shift()
      shiftIn()
    }
    return bit
  }
}
