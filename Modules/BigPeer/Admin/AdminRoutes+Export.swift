#if Server
  import CRDTCore
  import DocStore
  import DunlinControl
  import Facade
  import HTTPTypes
  import Hummingbird
  import Logging
  import NIOCore

  extension AdminRoutes {
    func addExport(to router: Router<ServerContext>) {
      router.get("/admin/applications/:application/export") { request, context in
        let application = try application(request, context)
        let parameters = try QueryParameters(request)
        try parameters.check(only: ["collection"])
        let export = try ApplicationExport(application.parts.store, parameters["collection"])
        return Response(
          status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
          body: ResponseBody { writer in try await Self.send(export, to: &writer) })
      }
    }

    /// Sends each piece when the one before it has been taken.
    ///
    /// If reading fails, the connection ends without the end of the body, so that no client takes what it has
    /// for complete.
    @concurrent
    private static func send(_ export: ApplicationExport, to writer: inout any ResponseBodyWriter)
      async throws
    {
      var export = export
      while let bytes = try export.next() { try await writer.write(ByteBuffer(bytes: bytes)) }
      try await writer.finish(nil)
    }
  }

  /// Reads the documents of a store as lines of JSON, a piece at a time.
  ///
  /// Between two pieces no snapshot is kept, so that a client that reads slowly keeps no pages. Each document
  /// is there once, as it was when its piece was read.
  struct ApplicationExport {
    /// Bytes after which a piece ends.
    private static let pieceBytes = 64 << 10

    private let store: Store
    /// Whether each line names its collection.
    private let namesCollections: Bool
    /// The collections that are left; the first one is being read.
    private var collections: [String]
    /// The id of the last document read in the first of them.
    private var last: [UInt8]?

    /// Begins with the first document.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - collection: The collection to read; `nil` for all, by name.
    /// - Throws: `notFound` if there is no such collection; `StoreError`.
    init(_ store: Store, _ collection: String?) throws {
      self.store = store
      namesCollections = collection == nil
      let names = try store.read { try $0.collections().map(\.name) }
      if let collection {
        guard let name = names.first(where: { $0.isSame(as: collection) }) else {
          throw Problem(.notFound, "notFound", "there is no collection with this name")
        }
        collections = [name]
      } else {
        collections = names.sorted { TextKey($0) < TextKey($1) }
      }
    }

    /// The next lines; `nil` after the last ones.
    ///
    /// - Throws: `StoreError`, such as `corrupt`.
    mutating func next() throws -> [UInt8]? {
      var lines: [UInt8] = []
      while let name = collections.first, lines.count < Self.pieceBytes {
        if try read(name, into: &lines) {
          collections.removeFirst()
          last = nil
        }
      }
      return lines.isEmpty ? nil : lines
    }

    /// Reads on in a collection.
    ///
    /// - Returns: Whether it is at its end.
    private mutating func read(_ name: String, into lines: inout [UInt8]) throws -> Bool {
      let start = last
      var (found, text) = (start, lines)
      defer { (last, lines) = (found, text) }
      return try store.read { transaction in
        guard let collection = try transaction.collection(name) else { return true }
        var isAtEnd = true
        try transaction.forEachRecord(in: collection, from: start) { id, _, record in
          if let start, start.span.bytes.isEqual(to: id) { return true }
          guard text.count < Self.pieceBytes else {
            isAtEnd = false
            return false
          }
          found = Self.copy(id)
          guard record.isAlive else { return true }
          var fields = try record.fields(collection.keys)
          fields["_id"] = try DocumentID(validating: id).value
          let line: Value =
            namesCollections ? .map(["collection": .string(name), "document": .map(fields)]) : .map(fields)
          JSON.write(line, to: &text, options: JSON.WriteOptions(isLossless: true))
          text.append(UInt8(ascii: "\n"))
          return true
        }
        return isAtEnd
      }
    }

    private static func copy(_ id: RawSpan) -> [UInt8] {
      var writer = ByteWriter()
      writer.write(id)
      return writer.bytes
    }
  }

  extension HostedApplication {
    /// Adds a point to a series of backups.
    ///
    /// - Throws: What the store throws.
    func addBackup(to path: String, asBase: Bool) async throws -> [TextKey: Value] {
      let point = try await dunlin.store.backup(toSeries: path, label: id, asBase: asBase)
      logger.notice(
        "The store was backed up", metadata: ["directory": "\(path)", "point": "\(point.number)"])
      return point.values.merging(["directory": .string(path)]) { $1 }
    }
  }
#endif
