/// A number for each level of a tree, in place: with no memory of its own, for a look-up costs little more than that.
///
/// It serves where `InlineArray` would, which needs macOS 26 and iOS 26. Reading is a change, too, because only what may
/// change has an address: the numbers would be copied otherwise.
struct TreeLevels {
  private typealias Twelve = (Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int)

  private var numbers: Twelve = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

  static let count = MemoryLayout<Twelve>.size / MemoryLayout<Int>.stride

  subscript(level: Int) -> Int {
    @inline(__always)
    mutating get {
      Self.check(level)
      // SAFETY: the level is one of those that there is a number for.
      return unsafe withUnsafeBytes(of: &numbers) {
        unsafe $0.load(fromByteOffset: level &* MemoryLayout<Int>.stride, as: Int.self)
      }
    }
    @inline(__always)
    set {
      Self.check(level)
      // SAFETY: as above.
      unsafe withUnsafeMutableBytes(of: &numbers) {
        unsafe $0.storeBytes(of: newValue, toByteOffset: level &* MemoryLayout<Int>.stride, as: Int.self)
      }
    }
  }

  @inline(__always)
  private static func check(_ level: Int) {
    precondition(UInt(bitPattern: level) < UInt(bitPattern: count), "a tree has no such level")
  }
}
