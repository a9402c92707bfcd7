// The standard library's `Array.span` needs macOS 26 and iOS 26; that of `ContiguousArray` does not. Files
// that import this module get the property below instead, because it has a stricter constraint on the
// elements.
extension Array where Element: BitwiseCopyable {
  /// The elements in place, on all systems that the package is compiled for.
  ///
  /// It is inlined, like the standard library's own, because nearly every access to bytes goes through it.
  @inlinable
  package var span: Span<Element> {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get { spanOfValues }
  }
}

extension Array {
  /// The elements in place, for any structure or enumeration; the elements must not be objects.
  @inlinable
  package var spanOfValues: Span<Element> {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get {
      assert(!(Element.self is AnyObject.Type), "objects may be stored in an array of Objective-C")
      // SAFETY: an array uses Objective-C storage only for objects. For those, the pointer would not outlive
      // the closure. Here the pointer is that of the array's own storage, which stays valid while `self` is
      // borrowed.
      let elements = unsafe withUnsafeBufferPointer { unsafe $0 }
      return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
    }
  }
}
