import Platform

/// The user's own run directory, for sockets that cannot be elsewhere.
enum RunDirectory {
  /// The directory's path; `nil` if the system has none, or if it is not the user's alone.
  ///
  /// On Linux that is `dunlin` in `/run/user/ID`, or else `dunlin-ID` in `/tmp`; on Apple systems `dunlin` in
  /// the user's temporary directory.
  static let path: String? = {
    for path in candidates {
      var status = stat()
      guard mkdir(path, 0o700) == 0 || errno == EEXIST, lstat(path, &status) == 0,
        status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0
      else { continue }
      return path
    }
    return nil
  }()

  private static var candidates: [String] {
    #if canImport(Darwin)
      var room = [CChar](repeating: 0, count: Int(MAXPATHLEN))
      guard confstr(_CS_DARWIN_USER_TEMP_DIR, &room, room.count) > 0 else { return [] }
      return [
        String(decoding: room.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + "dunlin"
      ]
    #else
      // The environment is ignored: a command and a service must find each other.
      return ["/run/user/\(geteuid())/dunlin", "/tmp/dunlin-\(geteuid())"]
    #endif
  }
}
