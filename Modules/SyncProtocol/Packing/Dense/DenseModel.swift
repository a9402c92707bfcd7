/// Predicts the next bit from the bytes before it.
///
/// Inputs are three contexts, each with its own counters, and the byte that followed the longest match.
/// They are mixed by how well each of them has predicted. The model learns as it goes, in integers only, so
/// that both ends predict alike on any machine. Plain memory and loops keep it usable in a debug build.
///
/// Source: Mahoney, "Adaptive Weighing of Context Models for Lossless Data Compression", Florida Tech.
/// 2005.
final class DenseModel {
  /// The number of contexts: the last one, two and three bytes.
  private static let orders = 3
  /// The contexts and the match.
  private static let inputs = orders + 1
  private static let slotBits = 17
  private static let historyMask = (64 << 10) - 1
  private static let headBits = 14
  private static let leastMatch = 5
  private static let longestMatch = 32
  /// The count at which the adaptation rate of a counter stops falling.
  private static let countLimit: UInt32 = 127
  private static let learningRate = 6

  /// Counters of all contexts: 22 bits of probability, 10 of count.
  private let slots: UnsafeMutablePointer<UInt32>
  /// Indexed by the class of the match length, the bits of this byte so far, and the input.
  private let weights: UnsafeMutablePointer<Int>
  private let history: UnsafeMutablePointer<UInt8>
  /// The position after the last occurrence of five bytes, by their hash.
  private let heads: UnsafeMutablePointer<Int>
  /// How often the bit that a match predicted was right, in units of 1/65,536, by the length of the match.
  private let trust: UnsafeMutablePointer<Int>
  /// For this bit: the counter of each context, and the signal of each input.
  private let places: UnsafeMutablePointer<Int>
  private let signals: UnsafeMutablePointer<Int>
  private let tables = Logistic.shared

  private var bases: (UInt32, UInt32, UInt32) = (0, 0, 0)
  /// A one, followed by the bits of this byte so far.
  private var partial = 1
  private var prediction = 2_048
  private var firstWeight = 0
  /// The last eight bytes.
  private var recent: UInt64 = 0
  private var count = 0
  private var matchPosition = 0
  private var matchLength = 0
  private var expected = 0
  private var isSpeaking = false

  init() {
    // SAFETY: all is freed in deinit, and every place below is masked, or bounded by what it is made of.
    unsafe slots = .allocate(capacity: Self.orders << Self.slotBits)
    unsafe slots.initialize(repeating: 1 << 31, count: Self.orders << Self.slotBits)
    unsafe weights = .allocate(capacity: 3 * 256 * Self.inputs)
    unsafe weights.initialize(repeating: 27_306, count: 3 * 256 * Self.inputs)
    unsafe history = .allocate(capacity: Self.historyMask + 1)
    unsafe history.initialize(repeating: 0, count: Self.historyMask + 1)
    unsafe heads = .allocate(capacity: 1 << Self.headBits)
    unsafe heads.initialize(repeating: 0, count: 1 << Self.headBits)
    unsafe trust = .allocate(capacity: Self.longestMatch + 1)
    unsafe trust.initialize(repeating: 49_152, count: Self.longestMatch + 1)
    unsafe places = .allocate(capacity: Self.orders)
    unsafe places.initialize(repeating: 0, count: Self.orders)
    unsafe signals = .allocate(capacity: Self.inputs)
    unsafe signals.initialize(repeating: 0, count: Self.inputs)
    beginByte()
  }

  deinit {
    unsafe slots.deallocate()
    unsafe weights.deallocate()
    unsafe history.deallocate()
    unsafe heads.deallocate()
    unsafe trust.deallocate()
    unsafe places.deallocate()
    unsafe signals.deallocate()
  }

  private func beginByte() {
    let last = UInt32(truncatingIfNeeded: recent)
    bases.0 = hash((last & 0xFF) &+ 1, 0x2F0B_4C47)
    bases.1 = hash((last & 0xFFFF) &+ 0x1_0000, 0x3D4D_51CB)
    bases.2 = hash((last & 0xFF_FFFF) &+ 0x300_0000, 0x9E37_79B1)
    partial = 1
  }

  private func hash(_ context: UInt32, _ factor: UInt32) -> UInt32 {
    let product = context &* factor
    return product ^ product &>> 15
  }

  /// Predicts the next bit, which is at `shift` of its byte, from 7 down.
  ///
  /// - Returns: The 12-bit probability of a one.
  func predict(_ shift: Int) -> Int {
    let step = UInt32(truncatingIfNeeded: partial) &* 0x9E37_79B1
    gather(0, bases.0 &+ step)
    gather(1, bases.1 &+ step)
    gather(2, bases.2 &+ step)
    isSpeaking = matchLength > 0 && (expected | 256) &>> (shift + 1) == partial
    var signal = 0
    if isSpeaking {
      signal = unsafe tables.odds[trust[matchLength] &>> 4]
      if expected &>> shift & 1 == 0 { signal = 0 &- signal }
    }
    unsafe signals[Self.orders] = signal
    firstWeight = ((matchLength == 0 ? 0 : matchLength > 15 ? 2 : 1) &* 256 &+ partial) &* Self.inputs
    var sum = 0
    var input = 0
    while input < Self.inputs {
      unsafe sum = sum &+ signals[input] &* weights[firstWeight &+ input]
      input = input &+ 1
    }
    prediction = unsafe tables.probabilities[Logistic.bounded(sum &>> 16) &+ 2_048]
    return prediction
  }

  private func gather(_ order: Int, _ mixed: UInt32) {
    let place =
      order &<< Self.slotBits
      &+ Int((mixed &* 0x2545_F491) &>> UInt32(truncatingIfNeeded: 32 &- Self.slotBits))
    unsafe places[order] = place
    unsafe signals[order] = tables.odds[Int(slots[place] &>> 20)]
  }

  /// Learns the bit that was predicted.
  func learn(_ bit: Int, _ shift: Int) {
    let error = (bit &<< 12 &- prediction) &* Self.learningRate
    var input = 0
    while input < Self.inputs {
      let change = unsafe (signals[input] &* error &+ 0x2000) &>> 14
      unsafe weights[firstWeight &+ input] = weights[firstWeight &+ input] &+ change
      input = input &+ 1
    }
    let target = bit == 1 ? 0x3F_FFFF : 0
    var order = 0
    while order < Self.orders {
      let place = unsafe places[order]
      let slot = unsafe slots[place]
      let seen = slot & 0x3FF
      let probability = Int(slot &>> 10)
      let moved = unsafe probability &+ ((target &- probability) &* tables.steps[Int(seen)]) &>> 16
      unsafe slots[place] =
        UInt32(truncatingIfNeeded: moved) &<< 10 | (seen < Self.countLimit ? seen &+ 1 : seen)
      order = order &+ 1
    }
    if isSpeaking {
      let aim = bit == expected &>> shift & 1 ? 65_535 : 0
      unsafe trust[matchLength] = trust[matchLength] &+ (aim &- trust[matchLength]) &>> 6
    }
    partial = partial &<< 1 | bit
    if shift == 0 { note(UInt8(truncatingIfNeeded: partial)) }
  }

  private func note(_ byte: UInt8) {
    let mask = Self.historyMask
    if matchLength > 0, unsafe history[matchPosition & mask] == byte {
      if matchLength < Self.longestMatch { matchLength = matchLength &+ 1 }
      matchPosition = matchPosition &+ 1
    } else {
      matchLength = 0
    }
    unsafe history[count & mask] = byte
    count = count &+ 1
    recent = recent &<< 8 | UInt64(byte)
    let head = Int(((recent & 0xFF_FFFF_FFFF) &* 0x9E37_79B9_7F4A_7C15) &>> UInt64(64 - Self.headBits))
    if matchLength == 0 {
      matchPosition = unsafe heads[head]
      matchLength = lengthOfMatch()
    }
    unsafe heads[head] = count
    if matchLength > 0 { expected = unsafe Int(history[matchPosition & mask]) }
    beginByte()
  }

  /// Returns how many bytes before the match agree with the last bytes; 0 for a match that is too short.
  private func lengthOfMatch() -> Int {
    let mask = Self.historyMask
    guard matchPosition > 0, count - matchPosition < mask - Self.longestMatch else { return 0 }
    var length = 0
    while length < Self.longestMatch, length < matchPosition,
      unsafe history[(matchPosition &- 1 &- length) & mask] == history[(count &- 1 &- length) & mask]
    {
      length = length &+ 1
    }
    return length >= Self.leastMatch ? length : 0
  }
}
