#if Server
  /// Gathers the mistakes of a configuration, so that all of them are reported at once.
  ///
  /// One task uses it. What was read after a mistake has a value that only lets the reading go on; a caller
  /// throws the mistakes before it uses that value.
  final class Mistakes {
    private var all: [ConfigurationError] = []

    /// Whether there is none.
    var isEmpty: Bool { all.isEmpty }

    /// Records a mistake; one that is a report of several records each.
    func add(_ error: ConfigurationError) { all += error.all }

    /// Reads something, and records the mistake that ends the reading.
    ///
    /// - Parameter body: Reads it, and throws nothing but a ``ConfigurationError``.
    /// - Returns: What was read; `nil` after a mistake.
    @discardableResult
    func collect<R>(_ body: () throws -> R) -> R? {
      do {
        return try body()
      } catch {
        // A closure's type of error is not inferred, so it is found out here.
        add(error as? ConfigurationError ?? ConfigurationError("the configuration", "\(error)"))
        return nil
      }
    }

    /// Reads something in the same way, with calls that are awaited.
    ///
    /// - Parameter body: Reads it.
    /// - Returns: What was read; `nil` after a mistake.
    @discardableResult
    func collecting<R>(_ body: () async throws(ConfigurationError) -> R) async -> R? {
      do throws(ConfigurationError) {
        return try await body()
      } catch {
        add(error)
        return nil
      }
    }

    /// Reports the mistakes.
    ///
    /// - Throws: All of them as one error, in the order in which they were found.
    func check() throws(ConfigurationError) {
      if let error = ConfigurationError(all: all) { throw error }
    }
  }
#endif
