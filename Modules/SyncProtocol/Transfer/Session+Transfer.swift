import CRDTCore

extension Session {
  /// Processes frames of large groups that resume the transfer of an earlier link.
  func takeForTransfer(
    _ type: FrameType, _ reader: inout ByteReader, frameBytes: Int
  ) throws(FrameFailure) {
    if type == .staged {
      let notices = try whole(&reader) { (reader) throws(CodecError) in
        var notices: [StagedNotice] = []
        for _ in 0..<(try reader.readCount(minimumBytes: 9)) {
          notices.append(try StagedNotice(from: &reader))
        }
        return notices
      }
      try run { () throws(SyncError) in try pusher.queue.peerStages.take(notices) }
    } else {
      let frame = try whole(&reader) { (reader) throws(CodecError) in try ReuseFrame(from: &reader) }
      puller.answers += 1
      try run { () throws(SyncError) in try puller.take(frame, frameBytes: frameBytes) }
    }
  }
}
