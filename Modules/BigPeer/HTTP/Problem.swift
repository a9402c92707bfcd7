#if Server
  package import CRDTCore
  package import HTTPTypes
  package import Hummingbird

  /// Why a request failed, as clients read it: `application/problem+json` (RFC 9457).
  package struct Problem: CodedError, HTTPResponseError {
    /// A word such as `syntax` or `rateLimit`.
    package struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
      package let rawValue: String

      package init(rawValue: String) { self.rawValue = rawValue }

      package init(stringLiteral word: String) { rawValue = word }
    }

    package let status: HTTPResponse.Status
    /// The code, for programs.
    package let code: Code
    /// One sentence for people, without a document's contents and without a full stop.
    package let message: String
    /// Further members, such as the line and the column of a mistake.
    package var members: [TextKey: Value]
    /// Headers of the response, such as `Retry-After`.
    package var headers: HTTPFields
    /// The server's error, only for its log.
    package var underlying: (any Error)?

    /// Makes a problem.
    package init(
      _ status: HTTPResponse.Status, _ code: Code, _ message: String, members: [TextKey: Value] = [:],
      headers: HTTPFields = [:]
    ) {
      self.status = status
      self.code = code
      self.message = message
      self.members = members
      self.headers = headers
    }

    /// The bytes of the body.
    package var body: [UInt8] {
      var fields = members
      fields["type"] = .string("urn:dunlin:problem:\(code.rawValue)")
      fields["title"] = .string(status.reasonPhrase)
      fields["status"] = .int(Int64(status.code))
      fields["code"] = .string(code.rawValue)
      fields["detail"] = .string(message)
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      return bytes
    }

    /// The response.
    package var response: Response {
      var headers = headers
      headers[.contentType] = "application/problem+json"
      headers[.cacheControl] = "no-store"
      return Response(
        status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    package func response(from request: Request, context: some RequestContext) -> Response {
      if let underlying { (context as? ServerContext)?.record.note(error: underlying) }
      return response
    }
  }
#endif
