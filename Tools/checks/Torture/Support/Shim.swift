import Glibc

/// The library that stands between the store and the system, when it was preloaded.
struct Shim {
  private let watchCall: @convention(c) (UnsafePointer<CChar>) -> Void
  private let recordCall: @convention(c) (Int32, Int32) -> Void
  private let noteCall: @convention(c) (UnsafeRawPointer?, Int) -> Void
  private let armCall: @convention(c) (Int32, Int64, Int32, Int32) -> Void
  private let aliasCall: @convention(c) (UInt64, UInt64) -> Void
  private let seenCall: @convention(c) () -> Int64

  /// A function of the library.
  static func find<F>(_ name: String, as type: F.Type) throws -> F {
    guard let symbol = dlsym(nil, name) else {
      throw Failure(.harness, "the shim is not preloaded: start this with Tools/torture/run")
    }
    return unsafeBitCast(symbol, to: type)
  }

  init() throws {
    watchCall = try Self.find("torture_watch", as: (@convention(c) (UnsafePointer<CChar>) -> Void).self)
    recordCall = try Self.find("torture_record", as: (@convention(c) (Int32, Int32) -> Void).self)
    noteCall = try Self.find("torture_note", as: (@convention(c) (UnsafeRawPointer?, Int) -> Void).self)
    armCall = try Self.find("torture_arm", as: (@convention(c) (Int32, Int64, Int32, Int32) -> Void).self)
    aliasCall = try Self.find("torture_alias", as: (@convention(c) (UInt64, UInt64) -> Void).self)
    seenCall = try Self.find("torture_seen", as: (@convention(c) () -> Int64).self)
  }

  /// Watches what lies beneath `directory`.
  func watch(_ directory: String) { watchCall(directory) }

  /// Writes a log of every change to the open file `descriptor`; syncs are passed over for the control.
  func record(to descriptor: Int32, ignoringSyncs: Bool) { recordCall(descriptor, ignoringSyncs ? 1 : 0) }

  func stopRecording() { recordCall(-1, 0) }

  /// Lets the file with the number `found` pass for the one that was recorded under another number.
  func alias(_ found: UInt64, for recorded: UInt32) { aliasCall(found, UInt64(recorded)) }

  func forgetAliases() { aliasCall(0, 0) }

  /// Puts a line of the program's own into the log, in order with all else.
  func note(_ line: String) {
    let bytes = Array(line.utf8)
    bytes.withUnsafeBytes { noteCall($0.baseAddress, $0.count) }
  }

  /// Classes of calls that can be made to fail.
  struct Calls: OptionSet {
    let rawValue: Int32
    static let write = Calls(rawValue: 1)
    static let sync = Calls(rawValue: 2)
    static let truncate = Calls(rawValue: 4)
    static let rename = Calls(rawValue: 8)
    static let open = Calls(rawValue: 16)
  }

  /// A `code` that stops a write half way; the disk is full then.
  static let shortWrite: Int32 = -1

  /// A `code` that makes a write succeed and do nothing.
  static let swallowedWrite: Int32 = -2

  /// Makes the `n`-th of `calls` from now fail with an error code, and with `forEver` all after it.
  func arm(_ calls: Calls, n: Int, forEver: Bool, code: Int32) {
    armCall(calls.rawValue, Int64(n), forEver ? 1 : 0, code)
  }

  func disarm() { armCall(0, 0, 0, 0) }

  /// How many calls of the armed classes there were.
  var seen: Int { Int(seenCall()) }
}
