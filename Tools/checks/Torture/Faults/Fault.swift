import Glibc

/// One way in which one call fails.
struct Fault: CustomStringConvertible {
  let name: String
  let calls: Shim.Calls
  let forEver: Bool
  let code: Int32
  var n = 0

  var isFullDisk: Bool { code == ENOSPC || code == Shim.shortWrite }

  var description: String { "\(name) \(n) \(forEver ? "and all after it" : "once")" }

  /// All kinds; each is tried at every place of the script.
  static let kinds: [Fault] = [false, true].flatMap { forEver in
    [
      Fault(name: "EIO at write", calls: .write, forEver: forEver, code: EIO),
      Fault(name: "ENOSPC at write", calls: .write, forEver: forEver, code: ENOSPC),
      Fault(name: "short write", calls: .write, forEver: forEver, code: Shim.shortWrite),
      Fault(name: "EIO at sync", calls: .sync, forEver: forEver, code: EIO),
      Fault(name: "ENOSPC at sync", calls: .sync, forEver: forEver, code: ENOSPC),
      Fault(name: "EIO at truncation", calls: .truncate, forEver: forEver, code: EIO),
      Fault(name: "ENOSPC at truncation", calls: .truncate, forEver: forEver, code: ENOSPC),
      Fault(name: "EIO at rename", calls: .rename, forEver: forEver, code: EIO),
      Fault(name: "EMFILE at open", calls: .open, forEver: forEver, code: EMFILE),
      Fault(name: "EACCES at open", calls: .open, forEver: forEver, code: EACCES),
    ]
  }
}
