// `String.utf8Span` and `String.UTF8View.span` need macOS 26 and iOS 26.
extension String {
  /// Calls a closure with the UTF-8 bytes.
  ///
  /// The bytes are in place, except for text from Objective-C that is stored otherwise.
  ///
  /// - Parameter body: Reads the bytes.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws.
  @inline(__always)
  package func withUTF8Bytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let inPlace = utf8.withContiguousStorageIfAvailable { bytes in
      Swift.Result { () throws(Failure) in try unsafe body(RawSpan(_unsafeElements: bytes)) }
    }
    if let inPlace { return try inPlace.get() }
    return try body(ContiguousArray(utf8).span.bytes)
  }
}
