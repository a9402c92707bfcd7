import CRDTCore

extension RemoteStatements {
  /// Processes frames of statements between peers.
  func receive(_ type: FrameType, _ reader: inout ByteReader) throws(FrameFailure) {
    switch type {
    case .ask:
      let (number, question) = try reader.whole { (reader) throws(CodecError) in
        (try reader.readVarint(), try QueryQuestion(from: &reader))
      }
      try run { () throws(SyncError) in try receive(number, question) }
    case .rows:
      try reader.whole { (reader) throws(CodecError) in try receiveRows(&reader) }
    case .answered:
      let (number, end) = try reader.whole { (reader) throws(CodecError) in
        (try reader.readVarint(), try QueryEnd(from: &reader))
      }
      try run { () throws(SyncError) in try receiveEnd(number, end) }
    case .stopAsk:
      let (number, consumed) = try reader.whole { (reader) throws(CodecError) -> (UInt64, UInt64?) in
        let number = try reader.readVarint()
        guard try reader.readFlag() else { return (number, nil) }
        return (number, try reader.readVarint())
      }
      try run { () throws(SyncError) in try receiveControl(number, consumed: consumed) }
    default: return
    }
  }
}
