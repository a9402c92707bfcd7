/// Bytes of a text that grows at its end, for writers whose appends must cost no more than a store.
///
/// An array checks for each byte that it is appended whether its memory is shared.
// SAFETY: the memory belongs to this structure alone, which cannot be copied. Each append reserves room.
@safe struct TextBuffer: ~Copyable {
  private var start: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private(set) var count = 0

  /// Makes an empty buffer with room for so many bytes.
  init(capacity: Int) {
    self.capacity = max(capacity, 64)
    unsafe start = UnsafeMutablePointer<UInt8>.allocate(capacity: self.capacity)
  }

  deinit { unsafe start.deallocate() }

  @inline(__always)
  private mutating func reserve(_ byteCount: Int) {
    if capacity &- count < byteCount { grow(byteCount) }
  }

  @inline(never)
  private mutating func grow(_ byteCount: Int) {
    let larger = max(capacity * 2, count + byteCount)
    let room = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    unsafe room.moveInitialize(from: start, count: count)
    unsafe start.deallocate()
    unsafe start = room
    capacity = larger
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe (start + count).initialize(to: byte)
    count &+= 1
  }

  @inline(__always)
  mutating func append(_ bytes: RawSpan) {
    let byteCount = bytes.byteCount
    guard byteCount > 0 else { return }
    reserve(byteCount)
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe UnsafeMutableRawPointer(start + count).copyMemory(
        from: bytes.baseAddress ?? UnsafeRawPointer(start), byteCount: byteCount)
    }
    count &+= byteCount
  }

  @inline(__always)
  mutating func append(_ text: StaticString) {
    unsafe append(RawSpan(_unsafeStart: UnsafeRawPointer(text.utf8Start), byteCount: text.utf8CodeUnitCount))
  }

  mutating func append(_ text: String) { text.withUTF8Bytes { append($0) } }

  /// Appends an integer in decimal digits.
  mutating func append(_ number: Int64) {
    // A sign and 19 digits are the most.
    reserve(20)
    if number < 0 { append(UInt8(ascii: "-")) }
    var rest = number.magnitude
    var digits = 1
    var bound: UInt64 = 10
    while rest >= bound {
      digits &+= 1
      bound &*= 10
    }
    var place = count &+ digits
    count = place
    repeat {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      place &-= 1
      unsafe (start + place).initialize(to: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit))
      rest = quotient
    } while rest > 0
  }

  /// Appends all bytes to an array.
  borrowing func copy(to bytes: inout [UInt8]) {
    unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
  }
}
