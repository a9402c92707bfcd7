/// A number for each level of a tree, stored inline; an allocation would cost almost as much as a look-up.
///
/// It is used instead of `InlineArray`, which needs macOS 26 and iOS 26. Reading is mutating, too, because
/// only a mutable value has an address; otherwise the numbers would be copied.
struct TreeLevels {
  private typealias Twelve = (Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int)

  private var numbers: Twelve = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

  static let count = MemoryLayout<Twelve>.size / MemoryLayout<Int>.stride

  subscript(level: Int) -> Int {
    @inline(__always)
    mutating get {
      Self.check(level)
      // SAFETY: the level is in bounds.
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
