// The library's own is for its package alone, and the standard library's needs macOS 26.
extension Array where Element: BitwiseCopyable {
  /// The elements in place.
  @inlinable
  package var span: Span<Element> {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get {
      // SAFETY: elements without references are in the array's own memory, which stays valid as long as it is
      // borrowed.
      let elements = unsafe withUnsafeBufferPointer { unsafe $0 }
      return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
    }
  }
}
