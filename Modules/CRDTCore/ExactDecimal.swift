/// A decimal number of any length, exact, with one canonical text.
///
/// It is an integer times a power of ten. Documents store such a number as its text; records and the wire
/// have no type for it.
public struct ExactDecimal: Hashable, Sendable {
  /// The most digits that the initializer reads and that arithmetic may produce.
  package static let digitLimit = 400

  private var isNegative = false
  /// The integer's digits, 0 to 9, most significant first; neither the first nor the last is zero.
  ///
  /// Zero has no digits.
  private var digits: [UInt8] = []
  /// The power of ten.
  private var exponent = 0

  package static let zero = ExactDecimal()

  private init() {}

  private init(isNegative: Bool, digits: [UInt8], exponent: Int) {
    guard let first = digits.firstIndex(where: { $0 != 0 }),
      let last = digits.lastIndex(where: { $0 != 0 })
    else { return }
    self.isNegative = isNegative
    self.digits = Array(digits[first...last])
    self.exponent = exponent + digits.count - 1 - last
  }

  package init(_ number: some BinaryInteger) {
    self.init(isNegative: number < 0, digits: String(number.magnitude).utf8.map { $0 - 0x30 }, exponent: 0)
  }

  /// The number of the shortest text of a floating-point number; `nil` if that is not finite.
  package init?(shortestOf number: Double) {
    guard number.isFinite else { return nil }
    self.init("\(number)")
  }

  /// Reads digits with or without a sign, a point and an exponent: `-12.50`, `1e-7`.
  ///
  /// - Returns: `nil` for any other text, and for a number that takes more than ``digitLimit`` digits to
  ///   write.
  package init?(_ text: String) {
    var reader = TextReader(text)
    let isNegative = reader.accept("-")
    if !isNegative { _ = reader.accept("+") }
    var digits = reader.digits()
    guard !digits.isEmpty else { return nil }
    var exponent = 0
    if reader.accept(".") {
      let fraction = reader.digits()
      guard !fraction.isEmpty else { return nil }
      exponent = -fraction.count
      digits += fraction
    }
    guard digits.count <= Self.digitLimit * 2 else { return nil }
    if reader.accept("e") || reader.accept("E") {
      let isSmall = reader.accept("-")
      if !isSmall { _ = reader.accept("+") }
      let power = reader.digits()
      guard !power.isEmpty, power.count <= 6 else { return nil }
      let number = power.reduce(0) { $0 * 10 + Int($1) }
      exponent += isSmall ? -number : number
    }
    guard reader.isAtEnd else { return nil }
    self.init(isNegative: isNegative, digits: digits, exponent: exponent)
    guard isWithinLimit else { return nil }
  }

  private struct TextReader {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { offset == bytes.count }

    mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
      guard offset < bytes.count, UInt32(bytes[offset]) == scalar.value else { return false }
      offset += 1
      return true
    }

    mutating func digits() -> [UInt8] {
      let start = offset
      while offset < bytes.count, (0x30...0x39).contains(bytes[offset]) { offset += 1 }
      return bytes[start..<offset].map { $0 - 0x30 }
    }
  }

  /// Whether the number takes at most ``digitLimit`` digits on either side of the point.
  package var isWithinLimit: Bool {
    digits.count + max(exponent, 0) <= Self.digitLimit && -exponent <= Self.digitLimit
  }

  /// The canonical text: no exponent, no leading or trailing zeros, no sign of zero.
  public var text: String {
    guard !digits.isEmpty else { return "0" }
    var bytes: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
    let whole = digits.count + exponent
    if whole <= 0 { bytes.append(0x30) }
    for index in 0..<max(whole, 0) { bytes.append(0x30 + (index < digits.count ? digits[index] : 0)) }
    if exponent < 0 {
      bytes.append(UInt8(ascii: "."))
      bytes.append(contentsOf: repeatElement(0x30, count: max(-whole, 0)))
      bytes.append(contentsOf: digits[max(whole, 0)...].map { 0x30 + $0 })
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The nearest floating-point number.
  package var double: Double { Double(text) ?? 0 }
}

extension ExactDecimal: Comparable {
  public static func < (a: ExactDecimal, b: ExactDecimal) -> Bool {
    let signs = (a.sign, b.sign)
    guard signs.0 == signs.1 else { return signs.0 < signs.1 }
    return signs.0 < 0 ? precedes(b, a) : precedes(a, b)
  }

  private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

  /// Whether the magnitude of `a` is the smaller one.
  private static func precedes(_ a: ExactDecimal, _ b: ExactDecimal) -> Bool {
    guard !a.digits.isEmpty, !b.digits.isEmpty else { return a.digits.isEmpty && !b.digits.isEmpty }
    let (first, second) = (a.digits.count + a.exponent, b.digits.count + b.exponent)
    guard first == second else { return first < second }
    return a.digits.lexicographicallyPrecedes(b.digits)
  }
}

extension ExactDecimal {
  package static prefix func - (number: ExactDecimal) -> ExactDecimal {
    ExactDecimal(isNegative: !number.isNegative, digits: number.digits, exponent: number.exponent)
  }

  package static func - (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal { a + -b }

  /// The exact sum.
  ///
  /// - Complexity: O(*n*) in the digits between the most and the least significant digit of both.
  package static func + (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal {
    guard !a.digits.isEmpty else { return b }
    guard !b.digits.isEmpty else { return a }
    let exponent = min(a.exponent, b.exponent)
    let length = max(a.digits.count + a.exponent, b.digits.count + b.exponent) - exponent + 1
    let (left, right) = (a.aligned(exponent, length), b.aligned(exponent, length))
    if a.isNegative == b.isNegative {
      return ExactDecimal(isNegative: a.isNegative, digits: add(left, right), exponent: exponent)
    }
    let isLess = left.lexicographicallyPrecedes(right)
    return ExactDecimal(
      isNegative: isLess ? b.isNegative : a.isNegative,
      digits: isLess ? subtract(right, left) : subtract(left, right), exponent: exponent)
  }

  /// The exact product.
  ///
  /// - Complexity: O(*n m*) in the digits.
  package static func * (a: ExactDecimal, b: ExactDecimal) -> ExactDecimal {
    var product = [Int](repeating: 0, count: a.digits.count + b.digits.count)
    for (i, x) in a.digits.enumerated() {
      for (j, y) in b.digits.enumerated() { product[i + j + 1] += Int(x) * Int(y) }
    }
    var carry = 0
    for index in product.indices.reversed() {
      let sum = product[index] + carry
      product[index] = sum % 10
      carry = sum / 10
    }
    return ExactDecimal(
      isNegative: a.isNegative != b.isNegative, digits: product.map { UInt8($0) },
      exponent: a.exponent + b.exponent)
  }

  /// Returns the digits down to a power of ten, with zeros in front up to a length.
  private func aligned(_ power: Int, _ length: Int) -> [UInt8] {
    let trailing = exponent - power
    return Array(repeating: 0, count: length - digits.count - trailing) + digits
      + Array(repeating: 0, count: trailing)
  }

  /// Returns the sum of two numbers of the same length whose first digits are zero.
  private static func add(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
    var sum = a
    var carry: UInt8 = 0
    for index in sum.indices.reversed() {
      let digit = a[index] + b[index] + carry
      carry = digit / 10
      sum[index] = digit % 10
    }
    return sum
  }

  /// Returns the difference of two numbers of the same length, of which the first is not the smaller.
  private static func subtract(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
    var difference = a
    var borrow: UInt8 = 0
    for index in difference.indices.reversed() {
      let wanted = b[index] + borrow
      borrow = a[index] < wanted ? 1 : 0
      difference[index] = a[index] + borrow * 10 - wanted
    }
    return difference
  }
}
