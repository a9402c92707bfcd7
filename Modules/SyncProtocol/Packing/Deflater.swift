import CRDTCore
import CZlib

/// Raw deflate with a flush after each piece.
///
/// It compresses one stream for a session, or pieces individually.
///
/// zlib keeps a pointer to its state's address, hence a class around memory that never moves.
final class Deflater {
  private let stream: UnsafeMutablePointer<z_stream>
  private var level: Int
  private var strategy = Z_DEFAULT_STRATEGY

  /// Creates a compressor.
  ///
  /// - Parameters:
  ///   - level: The compression level, 1 to 9.
  ///   - window: The last bytes of the stream that it continues, as ``window(limit:)`` of another
  ///     compressor returned them.
  /// - Throws: `storage` when zlib gets no memory or is of another version than the headers.
  init(level: Int, after window: [UInt8] = []) throws(SyncError) {
    self.level = level
    unsafe stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // SAFETY: the pointer is valid until deinit; negative window bits mean raw deflate.
    let rc = unsafe deflateInit2_(
      stream, Int32(level), Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard rc == Z_OK else {
      unsafe stream.deallocate()
      throw SyncError(.storage, "zlib cannot be set up (\(rc))")
    }
    try learn(window.span.bytes)
  }

  /// Returns the last plain bytes of the stream, at most `limit`.
  ///
  /// Another compressor can continue from them: its output fits the window of the receiver's inflater.
  func window(limit: Int) throws(SyncError) -> [UInt8] {
    var failure: Int32 = Z_OK
    let window = unsafe [UInt8](unsafeUninitializedCapacity: 1 << MAX_WBITS) { output, count in
      // SAFETY: zlib writes at most its window, which is what `output` has room for.
      var length: UInt32 = 0
      failure = unsafe deflateGetDictionary(stream, output.baseAddress, &length)
      count = Int(length)
    }
    guard failure == Z_OK else { throw SyncError(.storage, "zlib does not tell its window (\(failure))") }
    // `Array(slice)` would share the buffer, which has room for zlib's whole window. An idle session keeps
    // this array.
    var last: [UInt8] = []
    last.reserveCapacity(min(window.count, limit))
    last.append(contentsOf: window.suffix(limit))
    return last
  }

  private func learn(_ dictionary: RawSpan) throws(SyncError) {
    guard dictionary.byteCount > 0 else { return }
    // SAFETY: zlib copies the dictionary during the call.
    let rc = unsafe dictionary.withUnsafeBytes { bytes in
      unsafe deflateSetDictionary(
        stream, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(bytes.count))
    }
    guard rc == Z_OK else { throw SyncError(.storage, "zlib refuses a dictionary (\(rc))") }
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Changes the compression level between two pieces.
  ///
  /// Without `seekingRepeats`, the compressor only gives short codes to frequent bytes.
  func set(level: Int, seekingRepeats: Bool = true) throws(SyncError) {
    // Searching for runs of one byte costs nothing.
    let strategy = seekingRepeats ? Z_DEFAULT_STRATEGY : Z_RLE
    guard level != self.level || strategy != self.strategy else { return }
    (self.level, self.strategy) = (level, strategy)
    var room: UInt64 = 0
    let rc = unsafe withUnsafeMutableBytes(of: &room) { output in
      // SAFETY: nothing waits in the compressor after a flush, so zlib writes nothing; it only checks for
      // room.
      unsafe stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      unsafe stream.pointee.avail_out = UInt32(output.count)
      defer { unsafe stream.pointee.next_out = nil }
      return unsafe deflateParams(stream, Int32(level), strategy)
    }
    guard rc == Z_OK else { throw SyncError(.storage, "zlib refuses a level (\(rc))") }
  }

  /// Compresses the next piece of the session's stream, without the last four bytes of the flush.
  func compressNext(_ plain: RawSpan) throws(SyncError) -> [UInt8] {
    var packed = try run(plain, flush: Z_SYNC_FLUSH)
    guard packed.count >= 4 else { throw SyncError(.storage, "zlib gave no flush marker") }
    packed.removeLast(4)
    return packed
  }

  /// Compresses a piece individually, with the plain bytes before it as the dictionary.
  func compressAlone(_ plain: RawSpan, after dictionary: RawSpan, level: Int) throws(SyncError) -> [UInt8] {
    unsafe deflateReset(stream)
    try set(level: level)
    try learn(dictionary)
    return try run(plain, flush: Z_FINISH)
  }

  private func run(_ plain: RawSpan, flush: Int32) throws(SyncError) -> [UInt8] {
    let bound = Int(unsafe deflateBound(stream, UInt(plain.byteCount))) + 64
    var failure: Int32 = Z_OK
    let packed = unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
      unsafe plain.withUnsafeBytes { input in
        // SAFETY: zlib reads `input` and writes `output` during the call only, within the counts given.
        unsafe stream.pointee.next_in = .init(
          mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe stream.pointee.avail_in = UInt32(input.count)
        unsafe stream.pointee.next_out = output.baseAddress
        unsafe stream.pointee.avail_out = UInt32(bound)
        let rc = unsafe deflate(stream, flush)
        let isDone = unsafe stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0
        failure = (rc == Z_OK || rc == Z_STREAM_END) && isDone ? Z_OK : (rc == Z_OK ? Z_BUF_ERROR : rc)
        count = unsafe bound - Int(stream.pointee.avail_out)
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
      }
    }
    guard failure == Z_OK else { throw SyncError(.storage, "zlib cannot compress (\(failure))") }
    return packed
  }
}
