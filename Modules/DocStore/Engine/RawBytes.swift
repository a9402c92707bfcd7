import CRDTCore

extension Array where Element == UInt8 {
  /// The array's bytes, in place.
  var rawBytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      // SAFETY: bytes have no padding that could be read uninitialised.
      unsafe span.bytes
    }
  }
}

extension RawSpan {
  /// A copy of the bytes.
  var copied: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
