#if Server
  import DocStore

  /// The address of the administrator's listener, in a file of the data directory while the server runs.
  ///
  /// It stands beside the token, so commands on the same machine need no address.
  package enum AdminAddress {
    /// The file's name in the data directory.
    package static let file = "admin.address"
    /// The maximum size of the file, in bytes.
    private static let limit = 256

    /// Writes the file, and replaces that of an earlier start.
    ///
    /// - Throws: `permission`, `full` or `io`.
    static func write(_ address: ListenAddress, in directory: String) throws(StoreError) {
      try SecretFile(file, in: directory).replace(by: Array("\(address)\n".utf8))
    }

    /// Removes the file, if there is one.
    ///
    /// - Throws: `permission` or `io`.
    static func remove(in directory: String) throws(StoreError) {
      try SecretFile(file, in: directory).remove()
    }

    /// Reads the address of the server that runs with a data directory.
    ///
    /// - Parameter directory: The data directory.
    /// - Returns: `nil` when there is no file, or when it does not have an address of loopback: the token is
    ///   sent nowhere else.
    package static func read(in directory: String) -> ListenAddress? {
      guard let bytes = try? SecretFile(file, in: directory).read(atMost: limit), bytes.count <= limit,
        let line = String(validating: bytes, as: UTF8.self)?.split(separator: "\n").first,
        let address = ListenAddress(String(line)), address.isLoopback
      else { return nil }
      return address
    }
  }
#endif
