// The standard library's own `Array.span` needs macOS 26 and iOS 26; that of `ContiguousArray` does not. The one here is
// found first by whoever imports this module, since it asks more of the elements.
extension Array where Element: BitwiseCopyable {
  /// The elements in place, on all systems that the package is compiled for.
  ///
  /// It is inlined, as the standard library's own is: it stands before nearly every look at bytes.
  @inlinable
  package var span: Span<Element> {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get { spanOfValues }
  }
}

extension Array {
  /// The same for elements of any structure or enumeration; elements must not be objects.
  @inlinable
  package var spanOfValues: Span<Element> {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get {
      assert(!(Element.self is AnyObject.Type), "objects may be stored in an array of Objective-C")
      // SAFETY: only objects are ever stored in an array of Objective-C, for which the pointer would not outlive the
      // closure. So it is that of the array's own storage, which stands as long as `self` is borrowed.
      let elements = unsafe withUnsafeBufferPointer { unsafe $0 }
      return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
    }
  }
}
