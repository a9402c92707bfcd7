import CRDTCore
import CZlib

/// Raw inflate, which never writes more output than announced, whatever the input says.
final class Inflater {
  private let stream: UnsafeMutablePointer<z_stream>

  init() throws(SyncError) {
    unsafe stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // SAFETY: the pointer is valid until deinit; negative window bits mean raw deflate.
    let rc = unsafe inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard rc == Z_OK else {
      unsafe stream.deallocate()
      throw SyncError(.storage, "zlib cannot be set up (\(rc))")
    }
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Expands the next piece of the session's stream, and appends exactly `plainCount` bytes.
  func expandNext(_ packed: RawSpan, plainCount: Int, into output: inout [UInt8]) throws(SyncError) {
    var input = unsafe packed.withUnsafeBytes { unsafe Array($0) }
    input.append(contentsOf: [0, 0, 0xFF, 0xFF])
    let (plain, rc) = run(input.span.bytes, plainCount: plainCount, flush: Z_SYNC_FLUSH)
    guard rc == Z_OK || rc == Z_BUF_ERROR, let plain else {
      throw SyncError(.malformed, "a fragment does not expand to what it announces")
    }
    output.append(contentsOf: plain)
  }

  /// Expands a piece that was compressed individually.
  func expandAlone(
    _ packed: RawSpan, after dictionary: RawSpan, plainCount: Int, into output: inout [UInt8]
  ) throws(SyncError) {
    unsafe inflateReset(stream)
    if dictionary.byteCount > 0 {
      // SAFETY: zlib copies the dictionary during the call.
      let rc = unsafe dictionary.withUnsafeBytes { bytes in
        unsafe inflateSetDictionary(
          stream, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(bytes.count))
      }
      guard rc == Z_OK else { throw SyncError(.storage, "zlib refuses a dictionary (\(rc))") }
    }
    let (plain, rc) = run(packed, plainCount: plainCount, flush: Z_FINISH)
    guard rc == Z_STREAM_END, let plain else {
      throw SyncError(.malformed, "a chunk does not expand to what it announces")
    }
    output.append(contentsOf: plain)
  }

  /// Runs zlib over the whole input, with room for one byte more than announced.
  private func run(_ packed: RawSpan, plainCount: Int, flush: Int32) -> ([UInt8]?, Int32) {
    var rc: Int32 = Z_OK
    var isWhole = false
    let plain = unsafe [UInt8](unsafeUninitializedCapacity: plainCount + 1) { output, count in
      unsafe packed.withUnsafeBytes { input in
        // SAFETY: zlib reads `input` and writes `output` during the call only, within the counts given.
        unsafe stream.pointee.next_in = .init(
          mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe stream.pointee.avail_in = UInt32(input.count)
        unsafe stream.pointee.next_out = output.baseAddress
        unsafe stream.pointee.avail_out = UInt32(plainCount + 1)
        rc = unsafe inflate(stream, flush)
        isWhole = unsafe stream.pointee.avail_in == 0 && stream.pointee.avail_out == 1
        count = isWhole ? plainCount : 0
        unsafe stream.pointee.next_in = nil
        unsafe stream.pointee.next_out = nil
      }
    }
    return (isWhole ? plain : nil, rc)
  }
}
