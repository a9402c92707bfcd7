#if Server
  import BigPeerFiles
  import NIOCore

  extension BigPeerFile {
    /// A copy of the file's bytes, to be made once and shared by all responses.
    var buffer: ByteBuffer { ByteBuffer(bytes: UnsafeBufferPointer(start: bytes, count: count)) }
  }
#endif
