/// A few values by index, in a stack frame, while a closure runs.
///
/// It replaces `InlineArray`, which needs macOS 26 and iOS 26. A copy of this small structure refers to the
/// same values.
package struct ScratchArray<Element: BitwiseCopyable> {
  private let room: UnsafeMutableBufferPointer<Element>

  private init(_ room: UnsafeMutableBufferPointer<Element>) { unsafe self.room = room }

  /// Reserves memory for `count` values, at most `limit`, which are all `element` at first.
  ///
  /// SAFETY: `body` must not let the scratch outlive it.
  ///
  /// - Parameters:
  ///   - count: The number of values.
  ///   - limit: A constant at compile time, so that the frame has a fixed size.
  ///   - element: The initial value.
  ///   - body: Uses the values.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  @inline(__always)
  package static func with<Result, Failure: Error>(
    _ count: Int, of limit: Int, repeating element: Element,
    _ body: (ScratchArray) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(count >= 0 && count <= limit, "a scratch has too little room")
    return try unsafe withUnsafeTemporaryAllocation(of: Element.self, capacity: limit) {
      (room) throws(Failure) in
      let part = unsafe UnsafeMutableBufferPointer(rebasing: room[..<count])
      unsafe part.initialize(repeating: element)
      return try body(unsafe ScratchArray(part))
    }
  }

  /// The number of values.
  package var count: Int { unsafe room.count }

  /// The value at an index, which must be below the count.
  package subscript(index: Int) -> Element {
    @inline(__always)
    get {
      check(index)
      return unsafe room[index]
    }
    @inline(__always)
    nonmutating set {
      check(index)
      unsafe room[index] = newValue
    }
  }

  @inline(__always)
  private func check(_ index: Int) {
    precondition(UInt(bitPattern: index) < UInt(bitPattern: room.count), "a scratch has no such place")
  }
}
