import CZlib

/// Raw deflate without any of the package's own code.
enum DeflateForTests {
  struct Failure: Error {}

  static func pack(_ plain: [UInt8]) throws -> [UInt8] {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    defer { unsafe stream.deallocate() }
    guard
      unsafe deflateInit2_(
        stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        == Z_OK
    else { throw Failure() }
    defer { unsafe deflateEnd(stream) }
    var input = plain
    var output = [UInt8](repeating: 0, count: plain.count + 1_024)
    let capacity = output.count
    let left = unsafe input.withUnsafeMutableBufferPointer { source in
      unsafe output.withUnsafeMutableBufferPointer { target in
        // SAFETY: both buffers outlive the call, and zlib stays within the counts given.
        unsafe stream.pointee.next_in = source.baseAddress
        unsafe stream.pointee.avail_in = UInt32(source.count)
        unsafe stream.pointee.next_out = target.baseAddress
        unsafe stream.pointee.avail_out = UInt32(capacity)
        unsafe deflate(stream, Z_SYNC_FLUSH)
        return unsafe Int(stream.pointee.avail_out)
      }
    }
    return Array(output.prefix(capacity - left - 4))
  }
}
