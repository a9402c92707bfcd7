/// One change of a file or a directory, as the shim logged it.
enum RecordedEvent {
  case create(path: String, file: UInt32)
  case write(file: UInt32, offset: Int, bytes: ArraySlice<UInt8>, isDurable: Bool, isGathered: Bool)
  case sync(file: UInt32)
  case truncate(file: UInt32, length: Int)
  case rename(from: String, to: String)
  case unlink(path: String)
  case makeDirectory(path: String)
  case syncDirectory(path: String)
  /// What the program itself put into the log.
  case note(String)
  /// The file is written through memory too, unseen.
  case map(file: UInt32)

  /// Reads a whole log.
  static func parse(_ log: [UInt8]) throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    var place = 0
    func word(_ offset: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(log[place + offset + $1]) << (8 * UInt32($1)) }
    }
    while place < log.count {
      guard log.count - place >= 24 else { throw Failure(.harness, "the log ends inside an event") }
      let (kind, file, flags, count) = (word(0), word(4), word(16), Int(word(20)))
      let offset = Int(word(8)) | Int(word(12)) << 32
      guard log.count - place - 24 >= count else { throw Failure(.harness, "the log ends inside an event") }
      let bytes = log[place + 24..<place + 24 + count]
      place += 24 + count
      events.append(try RecordedEvent(kind, file, offset, flags, bytes))
    }
    return events
  }

  private init(
    _ kind: UInt32, _ file: UInt32, _ offset: Int, _ flags: UInt32, _ bytes: ArraySlice<UInt8>
  ) throws {
    let text = kind == 2 ? "" : String(decoding: bytes, as: UTF8.self)
    switch kind {
    case 1: self = .create(path: text, file: file)
    case 2:
      self = .write(
        file: file, offset: offset, bytes: bytes, isDurable: flags & 1 != 0, isGathered: flags & 2 != 0)
    case 3: self = .sync(file: file)
    case 4: self = .truncate(file: file, length: offset)
    case 5:
      let names = text.split(separator: "\0").map(String.init)
      guard names.count == 2 else { throw Failure(.harness, "a rename without two names") }
      self = .rename(from: names[0], to: names[1])
    case 6: self = .unlink(path: text)
    case 7: self = .makeDirectory(path: text)
    case 8: self = .syncDirectory(path: text)
    case 9: self = .note(text)
    case 10: self = .map(file: file)
    default: throw Failure(.harness, "an event of kind \(kind)")
    }
  }
}
