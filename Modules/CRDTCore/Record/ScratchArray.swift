/// A few values by index, in a stack frame, for as long as a closure runs.
///
/// It serves where `InlineArray` would, which needs macOS 26 and iOS 26. What holds it is small, and is copied without the
/// values.
package struct ScratchArray<Element: BitwiseCopyable> {
  private let room: UnsafeMutableBufferPointer<Element>

  private init(_ room: UnsafeMutableBufferPointer<Element>) { unsafe self.room = room }

  /// Makes room for `count` values, which is at most `limit`, all of them `element` at first.
  ///
  /// SAFETY: `body` must not let the scratch outlive it.
  ///
  /// - Parameters:
  ///   - count: How many values.
  ///   - limit: Known when this is compiled, so that the frame is of one size.
  ///   - element: What they are at first.
  ///   - body: Uses them.
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

  /// How many values there are.
  package var count: Int { unsafe room.count }

  /// The value at a place, which must be one that there is.
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
