import CZlib

/// Raw deflate as the protocol wants it, without any of its bounds.
final class RawDeflate {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

  init() {
    stream.initialize(to: z_stream())
    let code = deflateInit2_(
      stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(code == Z_OK, "zlib cannot be set up (\(code))")
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Packs the next fragment of a stream of small groups.
  func next(_ plain: [UInt8]) -> [UInt8] { Array(run(plain, flush: Z_SYNC_FLUSH).dropLast(4)) }

  /// Packs a chunk of a large group, of which `before` are the bytes before it.
  func alone(_ plain: [UInt8], after before: ArraySlice<UInt8> = []) -> [UInt8] {
    deflateReset(stream)
    let dictionary = Array(before.suffix(32 << 10))
    if !dictionary.isEmpty { deflateSetDictionary(stream, dictionary, UInt32(dictionary.count)) }
    return run(plain, flush: Z_FINISH)
  }

  private func run(_ plain: [UInt8], flush: Int32) -> [UInt8] {
    var input = plain
    return [UInt8](unsafeUninitializedCapacity: plain.count + plain.count / 8 + 1_024) { output, count in
      let capacity = output.count
      input.withUnsafeMutableBufferPointer { source in
        // SAFETY: both buffers outlive the call, and zlib stays within the counts given.
        stream.pointee.next_in = source.baseAddress
        stream.pointee.avail_in = UInt32(source.count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(capacity)
        deflate(stream, flush)
        count = capacity - Int(stream.pointee.avail_out)
      }
    }
  }
}
